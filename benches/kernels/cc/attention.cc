// Half the squares of softmax(Q K^T / sqrt d) V, and its gradients by Q, K, V.

#include "attention.h"

extern "C" void attention_value(const Input *in, double *out) {
  *out = attention_value(in, false);
}

extern "C" void attention_gradient(const Input *in, double *__restrict out) {
  attention_gradient(in, false, out);
}
