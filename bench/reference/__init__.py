"""The independent reference: every node's forward and backward pass written with NumPy alone."""
