package resource

import (
	"bytes"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
)

// maxQuantity is how many digits a quantity may have, and maxExponent how many its exponent.
// Upstream computes with all of them: 1e999999999 of a CPU keeps it busy for hours, and a million
// digits take 6 GB.
const (
	maxQuantity = 1024
	maxExponent = 3
)

// tooLargeQuantity is a number with more digits than a quantity may have.
var tooLargeQuantity = regexp.MustCompile(`[0-9.][eE][+-]?[0-9]{4,}`)

// CheckQuantities refuses a body that may make upstream compute with a gigantic quantity. It is
// to be read into an object of the type, as JSON or YAML or, unless it is text, as protobuf. A
// text that is such a number as a whole counts, wherever it stands in an object that has
// quantities. For example, no Pod can have a label 1e99999.
func CheckQuantities(body []byte, isText bool, into runtime.Object) error {
	if !suspicious(body, isText) || !hasQuantities(reflect.TypeOf(into), map[reflect.Type]bool{}) {
		return nil
	}
	gigantic := isGigantic(string(body))
	if isText {
		// Read as YAML, numbers stay as they are written. What cannot be read has no places.
		var root yaml.Node
		if err := yaml.Unmarshal(body, &root); err == nil {
			gigantic = containsGigantic(&root)
		}
	}
	if gigantic {
		return apiresource.ErrFormatWrong
	}
	return nil
}

// suspicious tells whether a body may contain a gigantic number: without false negatives, and
// fast.
func suspicious(body []byte, isText bool) bool {
	if isText {
		for _, escape := range []string{`\u00`, `\U00`, `\x`, "\\\n", "\\\r"} {
			if bytes.Contains(body, []byte(escape)) {
				return true // it may hide a digit
			}
		}
	}
	digits, exponent := 0, -1 // how many there are at this place; -1: it is no exponent
	for _, c := range body {
		switch {
		case c >= '0' && c <= '9' || c == '.':
			digits++
			if exponent >= 0 {
				exponent++
			}
			if digits > maxQuantity || exponent > maxExponent {
				return true
			}
		case (c == 'e' || c == 'E') && digits > 0:
			exponent, digits = 0, 0
		case (c == '+' || c == '-') && exponent == 0:
		default:
			digits, exponent = 0, -1
		}
	}
	return false
}

func isGigantic(text string) bool {
	if tooLargeQuantity.MatchString(text) {
		return true
	}
	digits := 0
	for i := range len(text) {
		if c := text[i]; c >= '0' && c <= '9' || c == '.' {
			digits++
		} else {
			digits = 0
		}
		if digits > maxQuantity {
			return true
		}
	}
	return false
}

// containsGigantic tells whether a text below a node is a gigantic number as a whole.
func containsGigantic(n *yaml.Node) bool {
	if n.Kind == yaml.ScalarNode {
		return strings.Trim(n.Value, "0123456789.+-eEinumkKMGTP") == "" && isGigantic(n.Value)
	}
	return slices.ContainsFunc(n.Content, containsGigantic)
}

var quantityType = reflect.TypeFor[apiresource.Quantity]()

// hasQuantities tells whether there is a quantity in a type.
func hasQuantities(t reflect.Type, seen map[reflect.Type]bool) bool {
	if t == quantityType {
		return true
	}
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return hasQuantities(t.Elem(), seen)
	case reflect.Map:
		return hasQuantities(t.Key(), seen) || hasQuantities(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if hasQuantities(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}
