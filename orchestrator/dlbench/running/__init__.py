"""From a plan to results: environments, jobs, certificates, one trial after the other."""
