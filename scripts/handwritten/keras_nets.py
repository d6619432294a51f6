"""The models in layers of Keras, or of TensorFlow's own Keras: `keras` is either."""

from handwritten import LSTM, WIDTHS


def net_of(kind, keras):
    made = {"cnn": cnn, "mlp": mlp, "lstm": lstm, "resnet": resnet}[kind]
    return made(keras.layers, keras.models)


def block(layers, x, width, stride):
    y = normalised(layers, x, width, 3, stride)
    y = normalised(layers, layers.Activation("relu")(y), width, 3, 1)
    if stride != 1 or x.shape[-1] != width:
        x = normalised(layers, x, width, 1, stride)
    return layers.Activation("relu")(layers.Add()([y, x]))


def normalised(layers, x, width, kernel, stride):
    padding = "same"
    if kernel == 3 and stride == 2:  # "same" would pad at the bottom and on the right alone
        x, padding = layers.ZeroPadding2D(1)(x), "valid"
    x = layers.Conv2D(width, kernel, strides=stride, padding=padding, use_bias=False)(x)
    return layers.BatchNormalization(momentum=0.9)(x)


def resnet(layers, models):
    x = image = layers.Input((32, 32, 3))
    x = layers.Activation("relu")(normalised(layers, x, WIDTHS[0], 3, 1))
    for stage, width in enumerate(WIDTHS):
        x = block(layers, block(layers, x, width, 2 if stage else 1), width, 1)
    return models.Model(image, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))


def cnn(layers, models):
    return models.Sequential(
        [
            layers.Conv2D(32, 3, activation="relu", input_shape=(28, 28, 1)),
            layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Dropout(0.25),
            layers.Flatten(),
            layers.Dense(128, activation="relu"),
            layers.Dropout(0.5),
            layers.Dense(10),
        ]
    )


def mlp(layers, models):
    return models.Sequential(
        [
            layers.Flatten(input_shape=(28, 28, 1)),
            layers.Dense(128, activation="relu"),
            layers.Dense(128, activation="relu"),
            layers.Dense(10),
        ]
    )


def lstm(layers, models):
    words = layers.Input((LSTM["length"],), dtype="int32")
    x = layers.Embedding(LSTM["vocabulary"], LSTM["width"], mask_zero=True)(words)
    x = layers.LSTM(LSTM["units"], recurrent_activation="sigmoid")(x)
    return models.Model(words, layers.Dense(1)(x))
