// Package webhook is the admission plugin that calls webhooks:
// MutatingAdmissionWebhook and ValidatingAdmissionWebhook of the real server in
// one.
//
// It follows upstream's k8s.io/apiserver/pkg/admission/plugin/webhook, of which it
// uses what does not bring in informers: the predicates, the match conditions, the
// clients and the errors. Mutating webhooks are called one after the other, in the
// order of their configurations' names and then of their places; each sees what
// those before it made of the object, with its defaults filled in. Validating ones
// are called at once, and all are waited for. If several refuse, the first of them
// in that order is the answer, where on a real server it is the first to have come.
//
// A call ends at the webhook's timeout or the request's, whichever comes first.
// Nothing is stored before every webhook has answered.
package webhook
