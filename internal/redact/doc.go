// Package redact keeps the values of Secrets and tokens out of everything that is shown outside of
// the response to a request: the history, findings, the log of a failed test, reports and --ui,
// explanations, recorded sessions, and the failures of scenarios. A response is never redacted: it is
// what a real server sends. Neither are the audit trail, in which the audit policy decides as on a real
// server, and snapshots, which are data.
//
// The fields that are hidden are those that upstream's types mark as sensitive (their tag datapolicy):
// the data of a Secret, the token of a TokenReview and that of a TokenRequest. The annotations of a
// Secret and fields that it should not have are hidden as well. Secrets in other objects, such as in a
// List, count too. Names of objects, names of fields, labels and types are shown.
//
// # Texts
//
// A [Request] redacts the texts about a request: error messages, warnings, what webhooks and policies
// say. Such a text may quote a value in any form: quoted, encoded, cut. So nothing looks for values in
// it. If the request is about a Secret, a text is shown as far as it is one of the server's own
// sentences (sentences.go), and what fills the gaps of the sentence is public: it is the name of the
// object, of the user, of a field. The rest of the text is replaced.
//
// # Values
//
// [Value] and [Request.Value] redact JSON: the hidden leaves become [Hidden], the names of the fields
// stay. [Replace] gives the leaves to a function, for those who need something else in their place.
package redact
