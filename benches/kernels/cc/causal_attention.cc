// Half the squares of softmax(Q K^T / sqrt d) V where query i sees keys 0 to i, and its gradients by Q, K, V.

#include "attention.h"

extern "C" void causal_attention_value(const Input *in, double *out) {
  *out = attention_value(in, true);
}

extern "C" void causal_attention_gradient(const Input *in, double *__restrict out) {
  attention_gradient(in, true, out);
}
