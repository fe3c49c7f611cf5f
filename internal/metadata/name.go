package metadata

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Upstream validates names by regular expressions, which takes a tenth of the time of a create. These functions
// recognize usual names without them, and call upstream for the others.

// IsSubdomain reports whether a name is a DNS subdomain, as the names of most kinds are.
func IsSubdomain(s string) bool {
	return isPlainSubdomain(s) || len(validation.IsDNS1123Subdomain(s)) == 0
}

// IsLabel reports whether a name is a DNS label, as the names of namespaces are.
func IsLabel(s string) bool {
	return isPlainSubdomain(s) && !strings.Contains(s, ".") || len(validation.IsDNS1123Label(s)) == 0
}

func isLabelValue(s string) bool {
	return s == "" || isPlainName(s) || len(validation.IsValidLabelValue(s)) == 0
}

func isQualifiedName(s string) bool {
	prefix, name, qualified := strings.Cut(s, "/")
	if !qualified {
		name = s
	}
	return isPlainName(name) && (!qualified || isPlainSubdomain(prefix)) || len(validation.IsQualifiedName(s)) == 0
}

// isPlainSubdomain reports whether a text consists of lower-case letters and digits, with
// single dots and hyphens between them, and is not longer than a label.
func isPlainSubdomain(s string) bool {
	between := true // at the beginning, after a dot or hyphen
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			between = false
		case (c == '-' || c == '.') && !between:
			between = true
		default:
			return false
		}
	}
	return !between && len(s) <= validation.DNS1123LabelMaxLength
}

// isPlainName is isPlainSubdomain for letters of both cases, with underscores as well.
func isPlainName(s string) bool {
	between := true
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9':
			between = false
		case (c == '-' || c == '.' || c == '_') && !between:
			between = true
		default:
			return false
		}
	}
	return !between && len(s) <= validation.LabelValueMaxLength
}
