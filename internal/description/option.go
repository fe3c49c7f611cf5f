package description

import (
	"reflect"
	"strings"

	"github.com/spf13/pflag"
)

// Option is an option of a cluster: a field of [Cluster].
type Option struct {
	// Name is the name of the option in JSON, Scenario in scenario files, Flag as a flag of serve, and Func
	// in package fakecluster. A name is empty where the option does not exist.
	Name, Scenario, Flag, Func string
	// Doc describes the option, beginning in lower case.
	Doc string

	commas bool // the values of its flag are separated by commas
	isPath bool // its value is a path or a list of paths
	index  int  // the index of its field in Cluster
}

// Options returns all options, in the order of the fields.
func Options() []Option {
	t := reflect.TypeFor[Cluster]()
	options := make([]Option, t.NumField())
	for i := range options {
		tag := t.Field(i).Tag
		name, _, _ := strings.Cut(tag.Get("json"), ",")
		flag, _, commas := strings.Cut(tag.Get("flag"), ",")
		_, isPath := tag.Lookup("path")
		options[i] = Option{name, tag.Get("scenario"), flag, tag.Get("option"), tag.Get("doc"), commas, isPath, i}
	}
	return options
}

// Value returns a pointer to the option's value in a cluster: *bool, *[]string, or a pointer to another type.
func (o Option) Value(c *Cluster) any {
	return reflect.ValueOf(c).Elem().Field(o.index).Addr().Interface()
}

// AddFlags adds the flags of all options with one. They set the fields of c.
func AddFlags(flags *pflag.FlagSet, c *Cluster) {
	for _, o := range Options() {
		if o.Flag == "" {
			continue
		}
		switch value := o.Value(c).(type) {
		case *bool:
			flags.BoolVar(value, o.Flag, false, o.Doc)
		case *[]string:
			if o.commas {
				flags.StringSliceVar(value, o.Flag, nil, o.Doc+"; separated by commas")
			} else {
				flags.StringArrayVar(value, o.Flag, nil, o.Doc+"; may be repeated")
			}
		default:
			panic("no flag can have the type of " + o.Name)
		}
	}
}
