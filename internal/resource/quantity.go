package resource

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
)

// maxQuantity limits the digits of a quantity, and maxExponent those of its exponent. Upstream computes with all of
// them: 1e-999999999 of a CPU takes hours, and a million digits take 6 GB. An exponent of six digits takes milliseconds;
// the short hash of a commit, such as 5e123456, may look like one.
const (
	maxQuantity = 1024
	maxExponent = 6
)

// tooLargeQuantity matches a number with more digits in its exponent than maxExponent.
var tooLargeQuantity = regexp.MustCompile(`[0-9.][eE][+-]?[0-9]{7,}`)

// CheckBody rejects a body that may make upstream compute with a gigantic quantity. The body is JSON or YAML if it is
// text, and protobuf otherwise. If the type has quantities, a text is rejected for a gigantic number at any place,
// except in labels and similar maps.
func (c *TypedCodec) CheckBody(body []byte, isText bool) error {
	if !suspicious(body, isText) || !hasQuantities(reflect.TypeOf(c.New()), map[reflect.Type]bool{}) {
		return nil
	}
	gigantic := false
	if isText {
		// YAML nodes keep the text of numbers. A text that is not YAML is rejected for any gigantic number.
		var root yaml.Node
		if err := yaml.Unmarshal(body, &root); err == nil {
			gigantic = containsGigantic(&root)
		} else {
			gigantic = isGigantic(string(body))
		}
	} else {
		gigantic = sendsGigantic(body)
	}
	if gigantic {
		return apiresource.ErrFormatWrong
	}
	return nil
}

// suspicious is a fast check whether a body may contain a gigantic number. It has false positives, but no false
// negatives.
func suspicious(body []byte, isText bool) bool {
	if isText {
		for _, escape := range []string{`\u00`, `\U00`, `\x`, "\\\n", "\\\r"} {
			if bytes.Contains(body, []byte(escape)) {
				return true // it may hide a digit
			}
		}
	}
	digits, exponent := 0, -1 // counted up to this place; exponent is -1 outside of one
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

// notQuantities are fields, at any depth, whose values are free text.
var notQuantities = []string{"labels", "annotations", "matchLabels", "nodeSelector", "data", "stringData"}

// containsGigantic reports whether a scalar at or below a node is a gigantic number.
func containsGigantic(n *yaml.Node) bool {
	switch n.Kind {
	case yaml.ScalarNode:
		return isNumber(n.Value) && isGigantic(n.Value)
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !slices.Contains(notQuantities, n.Content[i].Value) && containsGigantic(n.Content[i+1]) {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(n.Content, containsGigantic)
}

// isNumber reports whether a text consists of characters that a quantity may have.
func isNumber(text string) bool { return strings.Trim(text, "0123456789.+-eEinumkKMGTP") == "" }

// sendsGigantic reports whether a protobuf body has a gigantic quantity. A quantity is a message whose only field is a
// text with the number 1; elsewhere the same bytes may be part of a uid, for example.
func sendsGigantic(body []byte) bool {
	const firstField = 0x0a // the tag of a field 1 that has a length
	for next := 0; next < len(body); next++ {
		if body[next] != firstField {
			continue
		}
		length, size := binary.Uvarint(body[next+1:])
		start := next + 1 + size
		if size <= 0 || length > uint64(len(body)-start) {
			continue
		}
		outer := binary.AppendUvarint(nil, uint64(1+size)+length)
		if text := string(body[start : start+int(length)]); bytes.HasSuffix(body[:next], outer) && isNumber(text) && isGigantic(text) {
			return true
		}
	}
	return false
}

var quantityType = reflect.TypeFor[apiresource.Quantity]()

// hasQuantities reports whether a type contains a quantity.
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
