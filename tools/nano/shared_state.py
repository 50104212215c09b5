"""What the workers share: parameters, gradients and moments as flat memory, and the step that combines them.

Every worker's model is a view of the same parameters. A step is synchronous: each worker has its own gradients, then
updates its own part of the parameters from the mean of all, so a run does not depend on timing.
"""

import torch

BETAS, EPSILON, DECAY, CLIP = (0.9, 0.95), 1e-8, 0.05, 1.0
TIMEOUT = 1800  # s at a barrier before a worker gives up on the others


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
        self.decayed = torch.cat(
            [torch.full((p.numel(),), float(p.dim() == 2 and "embed" not in name)) for name, p in model.named_parameters()]
        ).share_memory_()
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
        """AdamW with the mean of all workers' gradients, each worker on its part. Returns the gradients' norm."""
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
        mean, square, weights = self.mean[part], self.square[part], self.parameters[part]
        mean.lerp_(gradient, 1 - BETAS[0])
        square.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
        scale = (square / (1 - BETAS[1] ** step)).sqrt_().add_(EPSILON)
        weights.sub_(weights * self.decayed[part] * (rate * DECAY))
        weights.addcdiv_(mean, scale, value=-rate / (1 - BETAS[0] ** step))
        self.wait()
        return norm

    def state(self):
        return {"parameters": self.parameters, "mean": self.mean, "square": self.square}

    def load(self, state):
        for name, values in self.state().items():
            values.copy_(state[name])
