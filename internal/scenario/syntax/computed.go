package syntax

import (
	"encoding/base64"
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"go.yaml.in/yaml/v3"
)

// RequestName is the variable of an expression for the request in the review that a webhook
// got.
const RequestName = "request"

// computed reads an expression over variables.
func (p *parser) computed(n *yaml.Node, variables []string) any {
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		p.mistake(n, `%s takes an expression, such as %[1]s "size(pods.items) + 1"`, tagCEL)
		return nil
	}
	_, program := p.compile(n, n.Value, variables)
	if program == nil {
		return nil
	}
	return Computed{p.position(n), n.Value, program}
}

// ToJSON converts a value of CEL to JSON: bytes become base64, and times and durations
// become strings.
func ToJSON(value ref.Val) (any, error) {
	switch v := value.(type) {
	case types.Null:
		return nil, nil
	case types.Bool:
		return bool(v), nil
	case types.Int:
		return int64(v), nil
	case types.Uint:
		return uint64(v), nil
	case types.Double:
		return float64(v), nil
	case types.String:
		return string(v), nil
	case types.Bytes:
		return base64.StdEncoding.EncodeToString(v), nil
	case types.Timestamp, types.Duration:
		text, ok := v.ConvertToType(types.StringType).(types.String)
		if ok {
			return string(text), nil
		}
	case traits.Mapper:
		fields := map[string]any{}
		for names := v.Iterator(); names.HasNext() == types.True; {
			name := names.Next()
			text, ok := name.(types.String)
			if !ok {
				return nil, fmt.Errorf("a field name must be a string, but %v is a %s", name.Value(), name.Type().TypeName())
			}
			field, err := ToJSON(v.Get(name))
			if err != nil {
				return nil, err
			}
			fields[string(text)] = field
		}
		return fields, nil
	case traits.Lister:
		items := []any{}
		for each := v.Iterator(); each.HasNext() == types.True; {
			item, err := ToJSON(each.Next())
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		return items, nil
	}
	return nil, fmt.Errorf("JSON does not have the type %s", value.Type().TypeName())
}

// merge is object.merge(patch): a copy of the object, changed as by a merge patch. CEL has
// no other way to copy an object and change some of its fields.
var merge = cel.Function("merge", cel.MemberOverload("map_merge_map",
	[]*cel.Type{cel.MapType(cel.StringType, cel.DynType), cel.MapType(cel.StringType, cel.DynType)},
	cel.MapType(cel.StringType, cel.DynType),
	cel.BinaryBinding(func(object, patch ref.Val) ref.Val {
		from, err := ToJSON(object)
		if err != nil {
			return types.WrapErr(err)
		}
		changes, err := ToJSON(patch)
		if err != nil {
			return types.WrapErr(err)
		}
		return types.DefaultTypeAdapter.NativeToValue(merged(from, changes))
	})))

// merged returns value after a merge patch (RFC 7386).
func merged(value, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	fields, ok := value.(map[string]any)
	if !ok {
		fields = map[string]any{}
	}
	for name, change := range changes {
		if change == nil {
			delete(fields, name)
		} else {
			fields[name] = merged(fields[name], change)
		}
	}
	return fields
}
