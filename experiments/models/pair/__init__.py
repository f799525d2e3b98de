"""A target and a draft that speak the same tokens: trained, loaded, and how good they are."""
