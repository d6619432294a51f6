"""What the certificate is made of: the two sides, how they are compared, and the checks."""
