"""The LSTM, with true lengths, an initial and a final state, forward and back through time.

Gates in the order i, f, g, o. After a row's true length its state stands still and its sequence
output is zero.
"""

import numpy as np


def sigmoid(x):
    # exp of a negative number only: no overflow on either side
    z = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + z), z / (1 + z)).astype(x.dtype)


def _unchanged(value):
    return value


def forward(node, x, p, lengths=None, initial=None, passed=_unchanged):
    """(sequence [B,T,H], last h, last c, cache). `passed` may disturb the gates."""
    batch, steps, _ = x.shape
    units = node["units"]
    h, c = initial or [np.zeros((batch, units), x.dtype)] * 2
    fed = x @ p["input_kernel"] + p["bias"]
    sequence = np.zeros((batch, steps, units), x.dtype)
    trace = []
    for t in range(steps):
        z = fed[:, t] + h @ p["recurrent_kernel"]
        i, f, o = (passed(sigmoid(z[:, k * units : (k + 1) * units])) for k in (0, 1, 3))
        g = passed(np.tanh(z[:, 2 * units : 3 * units]))
        new_c = f * c + i * g
        squashed = passed(np.tanh(new_c))
        new_h = o * squashed
        live = np.ones((batch, 1), bool) if lengths is None else (t < lengths)[:, None]
        trace.append((i, f, g, o, c, h, squashed, live))
        h, c = np.where(live, new_h, h), np.where(live, new_c, c)
        sequence[:, t] = np.where(live, new_h, 0)
    return sequence, h, c, (x, p, trace)


def backward(node, cache, dsequence, dh, dc):
    """(gradient of x, of the initial h and c, of the parameters)."""
    x, p, trace = cache
    units = node["units"]
    dfed = np.zeros(x.shape[:2] + (4 * units,), x.dtype)
    drecurrent = np.zeros_like(p["recurrent_kernel"])
    for t in reversed(range(len(trace))):
        i, f, g, o, c, h, squashed, live = trace[t]
        dh_new = np.where(live, dh + dsequence[:, t], 0)
        dc_new = np.where(live, dc, 0) + dh_new * o * (1 - squashed * squashed)
        dz = np.concatenate(
            [
                dc_new * g * i * (1 - i),
                dc_new * c * f * (1 - f),
                dc_new * i * (1 - g * g),
                dh_new * squashed * o * (1 - o),
            ],
            axis=1,
        )
        dfed[:, t] = dz
        drecurrent += h.T @ dz
        dh = np.where(live, dz @ p["recurrent_kernel"].T, dh)
        dc = np.where(live, dc_new * f, dc)
    rows = dfed.reshape(-1, 4 * units)
    grads = {
        "input_kernel": x.reshape(-1, x.shape[-1]).T @ rows,
        "recurrent_kernel": drecurrent,
        "bias": rows.sum(axis=0),
    }
    return dfed @ p["input_kernel"].T, dh, dc, grads
