"""One file per API generation of a framework; each turns the graph into that framework's layers."""
