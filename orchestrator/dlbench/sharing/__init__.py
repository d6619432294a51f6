"""Campaigns that travel: archives, merging, exports; nothing of the user's machine in them."""
