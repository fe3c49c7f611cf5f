package generate

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// unquoted are references that stand for something else than a text.
var unquoted = regexp.MustCompile(`"(\$\{managedFields\}|\$\{number:[^}"]*\})"`)

// managedFields stands for the managed fields of the current object, which are JSON and not text.
const managedFields = "${managedFields}"

// withReferences returns an object that a server has answered with, with references in the place of what that server has made.
func withReferences(current map[string]any) map[string]any {
	object := map[string]any{}
	for name, value := range current {
		if name != "metadata" {
			object[name] = withMade(value, name)
		}
	}
	metadata, ok := current["metadata"].(map[string]any)
	if !ok {
		return object
	}
	metadata = maps.Clone(metadata)
	for name, reference := range map[string]string{"uid": "${uid}", "resourceVersion": "${resourceVersion}", "creationTimestamp": "${creationTimestamp}", "managedFields": managedFields, "deletionTimestamp": "${text:metadata.deletionTimestamp}"} {
		if metadata[name] != nil {
			metadata[name] = reference
		}
	}
	if owners, ok := metadata["ownerReferences"].([]any); ok {
		metadata["ownerReferences"] = withOwners(owners)
	}
	object["metadata"] = metadata
	return object
}

// madeUID is a uid that a server has made.
var madeUID = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// withOwners returns owner references with references in the place of the uids of other objects.
func withOwners(owners []any) []any {
	list := slices.Clone(owners)
	for i, owner := range list {
		fields, ok := owner.(map[string]any)
		if uid, text := fields["uid"].(string); ok && text && madeUID.MatchString(uid) {
			fields = maps.Clone(fields)
			fields["uid"] = fmt.Sprintf("${text:metadata.ownerReferences.%d.uid}", i)
			list[i] = fields
		}
	}
	return list
}

// thisMoment is a time that a server has taken from its clock; those of histories are others.
var thisMoment = regexp.MustCompile(`^20(2[6-9]|[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`)

// withMade returns a value with references in the place of times, and of the addresses and ports of a Service that a server has chosen.
func withMade(value any, path string) any {
	switch value := value.(type) {
	case map[string]any:
		fields := map[string]any{}
		for name, v := range value {
			below := path + "." + strings.ReplaceAll(name, ".", `\.`)
			switch {
			case name == "nodePort" || name == "healthCheckNodePort":
				fields[name] = "${number:" + below + "}"
			case name == "clusterIP" && v != "None" && v != "":
				fields[name] = "${text:" + below + "}"
			default:
				fields[name] = withMade(v, below)
			}
		}
		return fields
	case []any:
		list := []any{}
		for i, v := range value {
			below := path + "." + strconv.Itoa(i)
			if strings.HasSuffix(path, ".clusterIPs") && v != "None" {
				list = append(list, "${text:"+below+"}")
				continue
			}
			list = append(list, withMade(v, below))
		}
		return list
	case string:
		if thisMoment.MatchString(value) && !strings.HasPrefix(value, "2030") {
			return "${text:" + path + "}"
		}
	}
	return value
}
