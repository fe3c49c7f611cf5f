package play

import (
	"bytes"
	"encoding/json"
	"strings"
)

// ConversionPrefix begins the name of a conversion webhook. The name of a field follows, which is called Renamed in the version v2.
const ConversionPrefix = "convert-"

// Renamed is the name that a field has in the version v2.
const Renamed = "renamed"

// converted answers a ConversionReview: the field is renamed.
func converted(body []byte, field string) []byte {
	var review map[string]any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if decoder.Decode(&review) != nil {
		return nil
	}
	request, _ := review["request"].(map[string]any)
	objects, _ := request["objects"].([]any)
	version, _ := request["desiredAPIVersion"].(string)
	from, to := Renamed, field
	if strings.HasSuffix(version, "/v2") {
		from, to = field, Renamed
	}
	for _, o := range objects {
		object, _ := o.(map[string]any)
		if value, ok := object[from]; ok {
			delete(object, from)
			object[to] = value
		}
		object["apiVersion"] = version
	}
	answer, err := json.Marshal(map[string]any{"apiVersion": review["apiVersion"], "kind": review["kind"], "response": map[string]any{
		"uid": request["uid"], "convertedObjects": objects, "result": map[string]any{"status": "Success"}}})
	if err != nil {
		return nil
	}
	return answer
}
