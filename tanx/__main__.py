"""The tour, ``python -m tanx``: devices, a jaxpr, a gradient, a batch, and a trained model.

Written as a user's program. It takes less than a minute; with ``TANX_TOUR_FAST=1`` a few seconds.
"""

import os
import sys
import time
from pathlib import Path

import numpy as np

import tanx
import tanx.numpy as jnp

FAST = os.environ.get("TANX_TOUR_FAST", "") not in ("", "0")
EPOCHS = 2 if FAST else 30
BATCH = 64


def heading(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}")


def show(code: str, value) -> None:
    """Print a line of code and its result."""
    print(f"    >>> {code}")
    for line in str(value).splitlines():
        print(f"    {line}")


def progress(done: int, total: int, note: str) -> None:
    """A bar that redraws itself on a terminal, and stays silent in a log until the end."""
    if sys.stdout.isatty() or done == total:
        filled = 30 * done // total
        end = "\n" if done == total else ""
        print(f"\r    [{'#' * filled}{'.' * (30 - filled)}] {done}/{total}  {note}", end=end,
              flush=True)


def wave(x):
    return jnp.sin(x) * jnp.exp(-0.1 * x)


def basics() -> None:
    heading("Devices")
    show("tanx.devices()", tanx.devices())

    heading("A function, and what tanx sees of it")
    print("    def wave(x): return jnp.sin(x) * jnp.exp(-0.1 * x)")
    show("tanx.make_jaxpr(wave)(1.0)", tanx.make_jaxpr(wave)(1.0))

    heading("Its derivative, and the derivative of that")
    show("wave(1.0), tanx.grad(wave)(1.0), tanx.grad(tanx.grad(wave))(1.0)",
         tuple(float(f(1.0)) for f in (wave, tanx.grad(wave), tanx.grad(tanx.grad(wave)))))

    heading("The same derivative for a whole batch")
    show("tanx.vmap(tanx.grad(wave))(jnp.arange(4.0))",
         repr(tanx.vmap(tanx.grad(wave))(jnp.arange(4.0))))


# -- a model ---------------------------------------------------------------------------------------


def load_digits():
    """8 x 8 images of handwritten digits: training and test set, pixels from 0 to 1."""
    with np.load(Path(__file__).parent / "data" / "digits.npz", allow_pickle=False) as data:
        images, labels = data["images"], data["labels"]
    order = np.random.default_rng(0).permutation(len(images))
    pixels = jnp.array(images[order].reshape(-1, 64) / 16, "float32")
    answers = jnp.array(labels[order].astype(np.int32))
    return (pixels[:1500], answers[:1500]), (pixels[1500:], answers[1500:])


def new_model(sizes=(64, 64, 10)) -> list:
    """Weights and biases of a network with one hidden layer."""
    rng = np.random.default_rng(1)
    return [{"w": jnp.array(rng.normal(size=(m, n)) * np.sqrt(2 / m), "float32"),
             "b": jnp.zeros(n)} for m, n in zip(sizes[:-1], sizes[1:])]


def scores(model, pixels):
    for layer in model[:-1]:
        pixels = jnp.maximum(pixels @ layer["w"] + layer["b"], 0)
    return pixels @ model[-1]["w"] + model[-1]["b"]


def loss(model, pixels, answers):
    """The mean of minus the logarithm of the probability given to the right answer."""
    logits = scores(model, pixels)
    logits = logits - logits.max(axis=1, keepdims=True)
    log_probabilities = logits - jnp.log(jnp.exp(logits).sum(axis=1, keepdims=True))
    return -log_probabilities[jnp.arange(len(answers)), answers].mean()


@tanx.jit
def step(model, pixels, answers):
    """One step of gradient descent."""
    value, gradient = tanx.value_and_grad(loss)(model, pixels, answers)
    return value, tanx.tree.map(lambda p, g: p - 0.3 * g, model, gradient)


def accuracy(model, pixels, answers) -> float:
    return float((scores(model, pixels).argmax(axis=1) == answers).mean())


def train() -> None:
    heading("A model of handwritten digits, trained with jit(grad(loss))")
    (pixels, answers), test = load_digits()
    model = new_model()
    started = time.perf_counter()
    steps = len(pixels) // BATCH
    for epoch in range(EPOCHS):
        for i in range(steps):
            part = slice(i * BATCH, (i + 1) * BATCH)
            value, model = step(model, pixels[part], answers[part])
        progress(epoch + 1, EPOCHS, f"loss {float(value):.3f}")
    seconds = time.perf_counter() - started
    print(f"    {EPOCHS * steps} steps in {seconds:.1f} s; "
          f"{100 * accuracy(model, *test):.1f} % of {len(test[1])} unseen digits are right")
    draw(test[0][:6], scores(model, test[0][:6]).argmax(axis=1))


def draw(pixels, guesses) -> None:
    """Draw digits side by side, with the model's answers."""
    shades = " .:-=+*#%@"
    images = np.asarray(pixels).reshape(-1, 8, 8)
    print()
    for row in range(8):
        print("    " + "   ".join(
            "".join(shades[int(p * 9.99)] * 2 for p in image[row]) for image in images))
    print("    " + "   ".join(f"{'a ' + str(int(g)):^16}" for g in np.asarray(guesses)))


def main() -> None:
    print(f"tanx {tanx.__version__}: NumPy on immutable arrays, with jit, grad and vmap")
    basics()
    train()


if __name__ == "__main__":
    main()
