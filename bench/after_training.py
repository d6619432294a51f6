"""What is measured once, with the weights that the result is of; each part is its own phase."""

from bench import decoding, inference, metrics


def measure(job, model, splits, events):
    """Fields of the event `result`; `metrics` are those that only the end has."""
    recipe, test = job["recipe"], splits["test"]
    found = {"metrics": {}, "train_metrics": {}, "decoded_rows": 0}
    for metric in recipe["metrics"]:
        if metric["name"] == decoding.NAME:
            with events.phase("decode", model.sync):
                found["metrics"][metric["name"]], found["decoded_rows"] = decoding.greedy(
                    metric, model, test, recipe["batch"]
                )
    if "train" in recipe.get("evaluate", ()):
        with events.phase("evaluate-train", model.sync):
            found["train_metrics"], _ = metrics.evaluate(model, splits["train"], recipe)
    if job.get("inference"):
        with events.phase("inference", model.sync):
            found["inference_ms"], found["inference_rows"] = inference.passes(
                model, test, recipe["batch"]
            )
        with events.phase("latency", model.sync):
            found["latency_ms"] = inference.latencies(model, test)
    return found
