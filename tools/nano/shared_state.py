"""What the workers share: parameters, gradients and moments as flat memory, and the step that combines them.

Every worker's model is a view of the same parameters. A step is synchronous: each worker has its own gradients, then
updates its own part of the parameters from the mean of all, so a run does not depend on timing.
"""

import torch

BETAS, EPSILON, DECAY, CLIP = (0.95, 0.98), 1e-8, 0.03, 1.0
MUON = 13.0  # the rate of matrices (the largest singular value of an update) is this times that of the rest
# The rate of those that write into the residual stream is smaller by this: it begins as the embedding, whose values
# are small (it is the output head as well), and layers that write much more would hide which token is there.
WRITERS, WRITER_RATE = ("o_proj.weight", "out_proj.weight", "down_proj.weight", "fc.weight"), 0.06
TIMEOUT = 1800  # s at a barrier before a worker gives up on the others


def orthogonalized(x):
    """Of each matrix of x [N, R, C], the nearest with singular values around 1: three Newton-Schulz steps (Muon)."""
    tall = x.shape[1] > x.shape[2]
    x = x.mT if tall else x
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(3):
        square = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=-4.7750, alpha=2.0315), x, beta=3.4445)
    return x.mT if tall else x


class SharedState:
    def __init__(self, model, workers, barrier, num_sums):
        self.workers, self.barrier = workers, barrier
        self.sizes = [p.numel() for p in model.parameters()]
        count = sum(self.sizes)

        def zeros(*shape):
            return torch.zeros(*shape).share_memory_()

        self.parameters, self.mean, self.square = zeros(count), zeros(count), zeros(count)
        self.gradients = zeros(workers, count)
        self.partial = torch.zeros(workers, dtype=torch.float64).share_memory_()
        self.sums = torch.zeros(workers, num_sums, dtype=torch.float64).share_memory_()  # figures of a step
        self.stop = torch.zeros(1, dtype=torch.int32).share_memory_()  # asked for at any time
        self.ending = torch.zeros(1, dtype=torch.int32).share_memory_()  # decided by worker 0, read after a barrier
        self.places = _places(model)
        self.parameters.copy_(torch.cat([p.detach().flatten() for p in model.parameters()]))

    def attach(self, model, worker):
        """Make the model's parameters and gradients views of the shared memory."""
        begin = 0
        for p in model.parameters():
            end = begin + p.numel()
            p.data = self.parameters[begin:end].view_as(p)
            p.grad = self.gradients[worker, begin:end].view_as(p)
            begin = end

    def wait(self):
        self.barrier.wait(TIMEOUT)

    def update(self, worker, step, rate):
        """A step with the mean of all workers' gradients, each worker on its part. Returns the gradients' norm."""
        count = len(self.parameters)
        part = slice(count * worker // self.workers, count * (worker + 1) // self.workers)
        self.wait()
        gradient = self.gradients[0, part]
        for other in range(1, self.workers):
            gradient.add_(self.gradients[other, part])
        gradient.div_(self.workers)
        self.partial[worker] = gradient.double().square().sum()
        self.wait()
        norm = float(self.partial.sum().sqrt())
        gradient.mul_(min(1.0, CLIP / (norm + 1e-6)))
        self.mean[part].lerp_(gradient, 1 - BETAS[0])
        self.wait()
        vectors, matrices = self.places
        for begin, end in vectors:
            length = end - begin
            self._adam(slice(begin + length * worker // self.workers, begin + length * (worker + 1) // self.workers),
                       step, rate)  # fmt: skip
        for (shape, share), begins in matrices.items():
            self._muon(shape, begins[worker :: self.workers], rate * MUON, share)
        self.wait()
        return norm

    def _adam(self, part, step, rate):
        gradient, square, weights = self.gradients[0, part], self.square[part], self.parameters[part]
        square.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
        scale = (square / (1 - BETAS[1] ** step)).sqrt_().add_(EPSILON)
        weights.addcdiv_(self.mean[part], scale, value=-rate / (1 - BETAS[0] ** step))

    def _muon(self, shape, begins, rate, share):
        if not begins:
            return
        parts = [slice(begin, begin + shape[0] * shape[1]) for begin in begins]
        mean = torch.stack([self.mean[part] for part in parts])
        gradient = torch.stack([self.gradients[0, part] for part in parts])
        updates = orthogonalized(mean.lerp_(gradient, 1 - BETAS[0]).unflatten(1, shape))
        updates.mul_(rate * share * max(1.0, shape[0] / shape[1]) ** 0.5)
        for part, update in zip(parts, updates):
            self.parameters[part].mul_(1 - rate * DECAY).sub_(update.flatten())

    def state(self):
        return {"parameters": self.parameters, "mean": self.mean, "square": self.square}

    def load(self, state):
        for name, values in self.state().items():
            values.copy_(state[name])


def _places(model):
    """Where the flat parameters have what is not a matrix of the layers, [(begin, end)], and of those
    {(shape, share of the rate): begins}."""
    vectors, matrices, begin = [], {}, 0
    for name, p in model.named_parameters():
        end = begin + p.numel()
        if p.dim() == 2 and min(p.shape) > 16 and "embed" not in name:
            share = WRITER_RATE if name.endswith(WRITERS) else 1.0
            matrices.setdefault((tuple(p.shape), share), []).append(begin)
        elif vectors and vectors[-1][1] == begin:
            vectors[-1] = (vectors[-1][0], end)
        else:
            vectors.append((begin, end))
        begin = end
    return vectors, matrices
