# message: what is returned is stored in FP16
def scaled_backward(x, t, W1, W2, scale):
    z = W1 @ x
    a = np.maximum(z, 0)
    grad_y = to16(scale * (W2 @ a - t))
    grad2 = np.outer(grad_y, a)
    grad_a = to16(W2.T @ grad_y)
    grad_z = to16(np.where(z > 0, grad_a, 0))
    return np.outer(grad_z, x), grad2
