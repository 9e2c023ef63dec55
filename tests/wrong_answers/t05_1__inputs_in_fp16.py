# message: x, a and the weights were rounded
def scaled_backward(x, t, W1, W2, scale):
    z = W1 @ x
    a = np.maximum(z, 0)
    grad_y = to16(scale * (W2 @ a - t))
    grad2 = to16(np.outer(grad_y, to16(a)))
    grad_a = to16(to16(W2).T @ grad_y)
    grad_z = to16(np.where(z > 0, grad_a, 0))
    return to16(np.outer(grad_z, to16(x))), grad2
