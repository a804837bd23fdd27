"""Proximal policy optimisation on gymnax's cart and pole, in one compiled program."""

import flax.linen as nn
import gymnax
import jax
import jax.numpy as jnp
import optax

ENVS, STEPS, UPDATES, EPOCHS, BATCHES = 16, 128, 24, 4, 4
DISCOUNT, TRACE, CLIP = 0.99, 0.95, 0.2
env, env_params = gymnax.make("CartPole-v1")


class ActorCritic(nn.Module):
    """Logits of the actions, and the value of a state."""

    @nn.compact
    def __call__(self, x):
        def tower(outputs, scale):
            h = x
            for _ in range(2):
                h = nn.tanh(nn.Dense(64, kernel_init=nn.initializers.orthogonal(2**0.5))(h))
            return nn.Dense(outputs, kernel_init=nn.initializers.orthogonal(scale))(h)
        return tower(2, 0.01), tower(1, 1.0)[..., 0]


network = ActorCritic()
optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(2.5e-3, eps=1e-5))


def rollout(params, carry, key):
    """One step of all environments: observations, actions and rewards."""
    obs, state = carry
    act_key, step_key = jax.random.split(key)
    logits, value = network.apply(params, obs)
    action = jax.random.categorical(act_key, logits)
    chance = jax.nn.log_softmax(logits)[jnp.arange(ENVS), action]
    following, state, reward, done, *_ = jax.vmap(env.step, (0, 0, 0, None))(
        jax.random.split(step_key, ENVS), state, action, env_params)
    return (following, state), (obs, action, chance, value, reward, done)


def advantages(values, rewards, dones, last):
    """The advantage of each action, by generalised advantage estimation."""
    def back(carry, step):
        later, following = carry
        value, reward, done = step
        goes_on = 1.0 - done
        error = reward + DISCOUNT * following * goes_on - value
        later = error + DISCOUNT * TRACE * goes_on * later
        return (later, value), later
    return jax.lax.scan(back, (jnp.zeros(ENVS), last), (values, rewards, dones), reverse=True)[1]


def loss(params, batch):
    """The clipped objective, the error of the values, and a bonus for entropy."""
    obs, action, chance, gain, target = batch
    logits, value = network.apply(params, obs)
    logs = jax.nn.log_softmax(logits)
    ratio = jnp.exp(jnp.take_along_axis(logs, action[:, None], 1)[:, 0] - chance)
    gain = (gain - gain.mean()) / (gain.std() + 1e-8)
    policy = -jnp.minimum(ratio * gain, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * gain).mean()
    entropy = -(jnp.exp(logs) * logs).sum(-1).mean()
    return policy + 0.5 * jnp.mean((value - target) ** 2) - 0.01 * entropy


def update(carry, key):
    """Run the environments, then train on the result."""
    params, opt_state, obs, state = carry
    play_key, learn_key = jax.random.split(key)
    (obs, state), played = jax.lax.scan(
        lambda c, k: rollout(params, c, k), (obs, state), jax.random.split(play_key, STEPS))
    seen, action, chance, value, reward, done = played
    gain = advantages(value, reward, done, network.apply(params, obs)[1])
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]),
                        (seen, action, chance, gain, gain + value))

    def epoch(carry, key):
        order = jax.random.permutation(key, ENVS * STEPS).reshape(BATCHES, -1)

        def minibatch(carry, rows):
            params, opt_state = carry
            value, grads = jax.value_and_grad(loss)(params, jax.tree.map(lambda x: x[rows], flat))
            updates, opt_state = optimizer.update(grads, opt_state)
            return (optax.apply_updates(params, updates), opt_state), value
        return jax.lax.scan(minibatch, carry, order)
    (params, opt_state), losses = jax.lax.scan(
        epoch, (params, opt_state), jax.random.split(learn_key, EPOCHS))
    return (params, opt_state, obs, state), (losses.mean(), done.sum())


@jax.jit
def train(key):
    """Losses, and the number of poles that fell, for each update."""
    init_key, reset_key, run_key = jax.random.split(key, 3)
    obs, state = jax.vmap(env.reset, (0, None))(jax.random.split(reset_key, ENVS), env_params)
    params = network.init(init_key, obs)
    start = (params, optimizer.init(params), obs, state)
    return jax.lax.scan(update, start, jax.random.split(run_key, UPDATES))[1]


losses, fallen = train(jax.random.key(0))
length = ENVS * STEPS / jnp.maximum(fallen, 1)
RESULT = {"first_loss": losses[0], "first_fallen": fallen[0], "learned": length[-4:].min() > 80}
TOLERANCE = {"first_loss": 1e-3}
