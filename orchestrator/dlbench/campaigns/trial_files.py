"""The names of the files in a trial's folder that travel with a campaign."""

RESULT = "trial.json"
TEXTS = ("job.json", "events.jsonl", "samples.jsonl", "log.txt")
ARRAYS = ("out/predictions.npz", "out/weights.npz")
