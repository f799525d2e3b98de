"""How long passes and blocks take, measured and fitted."""
