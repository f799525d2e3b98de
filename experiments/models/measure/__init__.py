"""How long passes and blocks take, measured; which candidate is the fastest."""
