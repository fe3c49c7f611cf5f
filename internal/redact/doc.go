// Package redact keeps the values of Secrets and tokens out of everything that is shown except responses to requests:
// the history, findings, the log of a failed test, reports and --ui, explanations, recorded sessions, and the failures
// of scenarios. Responses are never redacted, as on a real server. Neither are the audit trail, where the audit policy
// decides as on a real server, and snapshots, which are data.
//
// Hidden fields are those that upstream's types mark as sensitive (their tag datapolicy): the data of a Secret, the
// token of a TokenReview and that of a TokenRequest. The annotations of a Secret and fields that it should not have are
// hidden as well. Secrets in other objects, such as in a List, count too. Names of objects, names of fields, labels and
// types are shown.
//
// # Texts
//
// A [Request] redacts the texts about a request: error messages, warnings, messages of webhooks and policies. Such a
// text may contain a value in any form: quoted, encoded, cut. So searching it for values would not do. If the request is
// about a Secret, a text is shown as far as it is one of the server's own sentences (sentences.go) with public words in
// its gaps: the name of the object, of the user, of a field. The rest of the text is replaced.
//
// # Values
//
// [Value] and [Request.Value] redact JSON: the hidden leaves become [Hidden], the names of the fields stay. [Replace]
// replaces the leaves by the results of a function.
package redact
