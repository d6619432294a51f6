"""mnist-mlp of sohail2022, with the recipe of its Keras code."""

from dlbench.planning.recipes import adam, classification
from dlbench.workloads import Workload
from dlbench.workloads._dense_stack import dense_stack

WORKLOAD = Workload(
    name="mnist-mlp",
    task="image classification",
    dataset="mnist",
    graph=dense_stack("mnist-mlp", "image", (28, 28, 1), (128, 128), "logits", 10),
    recipe=classification(batch=32, epochs=20, optimizer=adam(1e-3), evaluate=("test", "train")),
    about="Handwritten digits, 28x28: a perceptron with two hidden layers",
    source="sohail2022: 784-128-128-10",
    proof=dense_stack("mnist-mlp-proof", "image", (28, 28, 1), (16, 16), "logits", 10),
)
