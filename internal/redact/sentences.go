package redact

import (
	"regexp"
	"strconv"
)

// sentences match the beginnings of the server's own texts, as far as they contain no values. The groups are gaps whose
// contents must be public (Request.isPublic); the server or its configuration fills the other gaps, for example with the
// name of a webhook or the number of a byte.
var sentences = compiled(
	// For all resources.
	`Unauthorized`,
	`the server could not find the requested resource`,
	`the server does not allow this method on the requested resource`,
	`the server rejected our request due to an error in our request`,
	`the server was unable to return a response in the time allotted, but may still be processing the request`,
	`Timeout: request did not complete within (?:the allotted|requested) timeout`,
	`Too many requests: `,
	`Request entity too large: (?:limit is \d+)?`,
	`resource name may not be empty`,
	`name is required`,
	`name or generateName is required`,
	`invalid JSON patch`,
	`the name of the object \((?P<name>[^)]*)\) does not match the name on the URL \((?P<name>[^)]*)\)`,
	`the namespace of the provided object does not match the namespace sent on the request`,
	`the API version in the data `,
	object+` not found`,
	`(?:object is being deleted: )?`+object+` already exists`,
	`Operation cannot be fulfilled on `+object+`: (?:the object has been modified; please apply your changes to the latest version and try again)?`,
	`Apply failed with \d+ conflicts?: (?:conflict with "[^"]*"(?: with subresource "\w+")?(?: using [a-z0-9./]+)?: (?P<path>\.[\w.-]+))?`,
	`failed to create typed (?:patch|live) object \((?P<name>[^;()]*); [a-z0-9./]*, Kind=(?P<kind>\w+)\): (?:(?P<path>\.[^:]+): (?:expected [a-z]+, got )?)?`,
	`(?P<kind>[A-Za-z]*)(?:\.[a-z0-9.-]+)? "(?P<name>[^"]*)" is invalid: `,
	// About bodies.
	`(?P<kind>[A-Za-z]+) in version "(?:__internal|v\d+(?:(?:alpha|beta)\d+)?)" cannot be handled as a (?P<kind>[A-Za-z]+): (?:strict decoding error: )?`,
	`the object provided is unrecognized \(must be of type (?P<kind>[A-Za-z]+)\): `,
	`(?:error converting YAML to JSON: )?yaml: (?:line \d+: )?`,
	`(?:unknown|duplicate) field "(?P<path>[^"]+)"`,
	// About access.
	`(?:`+object+` is forbidden|forbidden): (?:User "(?P<name>[^"]*)" cannot [a-z]+ resource "(?P<name>[^"]*)" in API group "(?P<name>[^"]*)"`+
		`(?: in the namespace "(?P<name>[^"]*)"| at the cluster scope))?`,
	// About admission.
	object+` is forbidden: (?:unable to create new content in namespace (?P<name>\S*) because it is being terminated|exceeded quota: )`,
	`(?:`+object+` is forbidden: |Validation failed for )ValidatingAdmissionPolicy '[a-z0-9.-]+'(?: with binding '[a-z0-9.-]+')?(?: denied request)?: (?:failed to configure (?:policy|binding): )?`,
	`policy (?:"[a-z0-9.-]+"|'[a-z0-9.-]+' with binding '[a-z0-9.-]+') denied request: (?:failed to configure (?:policy|binding): )?`,
	`admission webhook "[a-z0-9.-]+" denied the request(?:: | without explanation)`,
	`admission webhook "[a-z0-9.-]+" does not support dry run`,
	`(?:Internal error occurred: )?(?:failed calling webhook "[a-z0-9.-]+": )?`+
		`(?:failed to call webhook: (?:Post "https?://[^"?]*(?:\?timeout=\w+)?": )?|received invalid webhook response: )`,
)

// object matches an object or its resource, such as secrets "a".
const object = `(?P<name>[a-z0-9./-]+)(?: "(?P<name>[^"]*)")?`

// details matches the ends of the server's own texts.
var details = regexp.MustCompile(`(?:^|: )((?:` +
	`(?:error decoding from json: )?illegal base64 data at input byte \d+` +
	`|(?:error decoding from json: )?json: cannot unmarshal (?:string|number|bool|array|object) into Go (?:struct field [\w.]+ of type|value of type) [\w.\[\]*]+` +
	"|converting \\(\\w+\\.[A-Za-z]+\\) to \\(\\w+\\.[A-Za-z]+\\): unknown conversion" +
	`|cannot restore map from string` +
	`|field not declared in schema` +
	"|field is immutable(?: when `immutable` is set)?" +
	`|must be specified for an update` +
	`|mapping values are not allowed in this context|did not find expected key|found character that cannot start any token` +
	"|could not find expected ':'" +
	`|name or generateName is required` +
	`|context deadline exceeded|context canceled|EOF|unexpected EOF|connection refused` +
	`))$`)

// isDetail reports whether details matches the whole text.
func isDetail(text string) bool {
	match := details.FindStringIndex(text)
	return match != nil && match[0] == 0
}

// failures are the kinds of field errors, as their messages begin.
var failures = regexp.MustCompile(`^(?:Duplicate value|Forbidden|Internal error|Invalid value|Not found|Required value|Too few|Too long|Too many|Too short|Unsupported value)\b`)

// compiled compiles regular expressions, which match at the beginning of a text. Groups of the same name get numbers
// from 0.
func compiled(texts ...string) (patterns []*regexp.Regexp) {
	for _, text := range texts {
		n := 0
		text = regexp.MustCompile(`\?P<\w+`).ReplaceAllStringFunc(text, func(group string) string {
			n++
			return group + strconv.Itoa(n-1)
		})
		patterns = append(patterns, regexp.MustCompile(`^(?:`+text+`)`))
	}
	return patterns
}
