"""The same optimum by independent methods: the direct program, and cuts with exact separation."""
