package history

// Hook identifies an admission webhook.
type Hook struct{ Configuration, Webhook string }

// texts returns the size of the texts of a request, in bytes.
func (e *Entry) texts() int {
	q := &e.request
	n := max(len(q.Path)+len(q.Options), e.held) + len(q.Message) + len(q.Fault) + len(q.AuditID)
	for _, c := range q.Webhooks {
		n += len(c.Message)
	}
	for _, text := range q.Warnings {
		n += len(text)
	}
	return n
}
