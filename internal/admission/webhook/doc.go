// Package webhook is the admission plugin that calls webhooks: MutatingAdmissionWebhook and ValidatingAdmissionWebhook
// in one.
//
// It follows upstream's k8s.io/apiserver/pkg/admission/plugin/webhook, and uses the parts of it
// that do not need informers: the predicates, the match conditions, the clients and the errors.
//
// Mutating webhooks are called one after the other, sorted by the names of their configurations and then by index. Each
// gets the object of the previous one, with defaults. Validating webhooks are called concurrently, and the write waits
// for all of them. If several reject the write, the response is that of the first in this order; on a real server it is
// the response that arrives first.
//
// A call ends at the timeout of the webhook or of the request, whichever comes first. Nothing
// is stored before all webhooks have responded.
package webhook
