package exchange

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
)

// sortOwners puts the entries of managedFields into an order that does not depend on when a second
// ends: a server orders them by operation, then by second, then by name.
func sortOwners(body []byte) []byte {
	return sortArrays(body, `"managedFields":`)
}

// sortMistakes puts the causes of a Status into an order, in its message too, and the resources of a custom group.
func sortMistakes(body []byte) []byte {
	body = sortArrays(body, `"resources":`)
	var status struct {
		Kind, Message string
		Details       struct {
			Causes []struct{ Message, Field string }
		}
	}
	if json.Unmarshal(body, &status) != nil || status.Kind != "Status" || len(status.Details.Causes) < 2 {
		return body
	}
	var texts []string
	for _, c := range status.Details.Causes {
		if text := c.Field + ": " + c.Message; !slices.Contains(texts, text) { // the message has each once
			texts = append(texts, text)
		}
	}
	texts = unique(texts) // the message does not repeat a mistake
	before, _ := json.Marshal(strings.Join(texts, ", "))
	slices.Sort(texts)
	after, _ := json.Marshal(strings.Join(texts, ", "))
	body = bytes.Replace(body, before[1:len(before)-1], after[1:len(after)-1], 1)
	return sortArrays(body, `"causes":`)
}

// unique returns the texts in their order, each once.
func unique(texts []string) []string {
	var kept []string
	for _, text := range texts {
		if !slices.Contains(kept, text) {
			kept = append(kept, text)
		}
	}
	return kept
}

// SortArrays sorts the items of each array that follows the mark. All other bytes stay as they are.
func SortArrays(body []byte, mark string) []byte { return sortArrays(body, mark) }

// sortArrays sorts the items of each array that follows the mark. All other bytes stay as they are.
func sortArrays(body []byte, mark string) []byte {
	var sorted []byte
	for {
		before, rest, found := bytes.Cut(body, []byte(mark))
		sorted = append(sorted, before...)
		if !found {
			return sorted
		}
		sorted = append(sorted, mark...)
		var items []json.RawMessage
		values := json.NewDecoder(bytes.NewReader(rest))
		if values.Decode(&items) == nil && len(items) > 0 {
			slices.SortFunc(items, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
			for i, item := range items {
				sorted = append(append(sorted, "[,"[min(i, 1)]), item...)
			}
			sorted = append(sorted, ']')
			rest = rest[values.InputOffset():]
		}
		body = rest
	}
}

// readable returns CBOR as JSON.
func readable(body []byte) []byte {
	var value any
	if direct.Unmarshal(body, &value) != nil {
		return body
	}
	text, err := json.Marshal(value)
	if err != nil {
		return body
	}
	return text
}
