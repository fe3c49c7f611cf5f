package serverflags

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"
)

// Flags are the flags of a command line.
type Flags struct{ set *pflag.FlagSet }

// ErrHelp is the error of a command line with -h or --help.
var ErrHelp = pflag.ErrHelp

// Parse parses a command line, without the name of the command. It returns an error for flags that a real server does
// not have, and for values that fakecluster does not support.
func Parse(args []string) (*Flags, error) {
	set := newSet(Table)
	set.StringP("version", "", "", "")
	set.Lookup("version").NoOptDefVal = "true"
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	for _, arg := range set.Args() {
		if arg != "" {
			return nil, fmt.Errorf("%q does not take any arguments, got %q", "kube-apiserver", set.Args())
		}
	}
	var refused []error
	for _, f := range Table {
		flag := set.Lookup(f.Name)
		if f.Refused != "" && flag.Changed && text(flag.Value) != f.accepts() {
			refused = append(refused, fmt.Errorf("fakecluster does not have --%s=%s: %s", f.Name, text(flag.Value), f.Refused))
		}
	}
	return &Flags{set}, errors.Join(refused...)
}

// newSet returns a set with the flags of a table.
func newSet(table []Flag) *pflag.FlagSet {
	set := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	set.SetNormalizeFunc(cliflag.WordSepNormalizeFunc) // as on a real server, --secure_port is --secure-port
	set.SortFlags = false
	set.Usage = func() {}
	for _, f := range table {
		f.define(set)
	}
	return set
}

// define adds the flag to a set. It uses upstream's types, for the sake of their errors.
func (f Flag) define(set *pflag.FlagSet) {
	usage := f.Applied
	if f.Refused != "" {
		usage = f.Refused
	}
	switch f.Type {
	case "bool":
		set.Bool(f.Name, f.Default == "true", usage)
	case "duration":
		d, _ := time.ParseDuration(f.Default)
		set.Duration(f.Name, d, usage)
	case "float32":
		set.Float32(f.Name, 0, usage)
	case "float64":
		set.Float64(f.Name, 0, usage)
	case "int":
		set.Int(f.Name, 0, usage)
	case "int64":
		set.Int64(f.Name, 0, usage)
	case "uint":
		set.Uint(f.Name, 0, usage)
	case "Level": // of logs
		set.Uint32P(f.Name, f.Short, 0, usage)
	case "int32Slice":
		set.Int32Slice(f.Name, nil, usage)
	case "ip":
		set.IP(f.Name, nil, usage)
	case "stringSlice", "colonSeparatedMultimapStringString":
		set.StringSlice(f.Name, nil, usage)
	case "stringArray":
		set.StringArray(f.Name, nil, usage)
	case "mapStringString":
		m := cliflag.ConfigurationMap{}
		set.Var(&m, f.Name, usage)
	case "stringToString":
		set.StringToString(f.Name, nil, usage)
	case "namedCertKey":
		set.Var(newNamed(), f.Name, usage)
	case "pattern=N,...":
		set.Var(logsapi.VModuleConfigurationPflag(new(logsapi.VModuleConfiguration)), f.Name, usage)
	case "quantity":
		set.Var(new(resource.QuantityValue), f.Name, usage)
	case "portRange":
		var ports utilnet.PortRange
		_ = ports.Set(f.Default) // the table has a valid one
		set.Var(&ports, f.Name, usage)
	default: // and flags whose values are not used
		set.StringP(f.Name, f.Short, f.Default, usage)
	}
}

// named is the value of --tls-sni-cert-key, which is repeated for each certificate. It is upstream's type, but its value
// can be read.
type named struct {
	*cliflag.NamedCertKeyArray
	pairs *[]cliflag.NamedCertKey
}

func newNamed() named {
	pairs := new([]cliflag.NamedCertKey)
	return named{cliflag.NewNamedCertKeyArray(pairs), pairs}
}

// accepts returns the only accepted value of a refused flag.
func (f Flag) accepts() string {
	if f.Only != "" {
		return f.Only
	}
	if f.Default == "[]" {
		return ""
	}
	return f.Default
}

// text returns a value in the form of a command line.
func text(v pflag.Value) string {
	if list, ok := v.(pflag.SliceValue); ok {
		return strings.Join(list.GetSlice(), ",")
	}
	if s := v.String(); s != "[]" {
		return s
	}
	return ""
}

// Given reports whether the command line has the flag.
func (f *Flags) Given(name string) bool { return f.set.Lookup(name).Changed }

// Text returns the value of a flag that has one value; "" without the flag.
func (f *Flags) Text(name string) string {
	if !f.Given(name) {
		return ""
	}
	return text(f.set.Lookup(name).Value)
}

// Value returns the value of a flag that has one value, or the default of a real server.
func (f *Flags) Value(name string) string { return text(f.set.Lookup(name).Value) }

// All returns the values of all flags, in the form in which a real server prints them.
func (f *Flags) All() map[string]string {
	values := map[string]string{"help": "false", "version": "false"}
	for _, flag := range Table {
		values[flag.Name] = flag.Default
		if given := f.set.Lookup(flag.Name); given.Changed {
			values[flag.Name] = given.Value.String()
		}
	}
	return values
}

// List returns the values of a flag that may have several.
func (f *Flags) List(name string) []string {
	return f.set.Lookup(name).Value.(pflag.SliceValue).GetSlice()
}

// Values returns the values of a flag, whether it has one or several.
func (f *Flags) Values(name string) []string {
	value := f.set.Lookup(name).Value
	if list, ok := value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{text(value)}
}

// Pairs returns the values of --runtime-config and similar flags, which are written
// key=value.
func (f *Flags) Pairs(name string) map[string]string {
	return *f.set.Lookup(name).Value.(*cliflag.ConfigurationMap)
}

// Numbers returns the values of a flag that may have several numbers.
func (f *Flags) Numbers(name string) []int32 {
	numbers, _ := f.set.GetInt32Slice(name)
	return numbers
}

// CertificatesByName returns the values of --tls-sni-cert-key: pairs of files, and the server names for which they are
// used.
func (f *Flags) CertificatesByName(name string) []cliflag.NamedCertKey {
	return *f.set.Lookup(name).Value.(named).pairs
}

// Ports returns the value of a flag that is a range of ports.
func (f *Flags) Ports(name string) utilnet.PortRange {
	return *f.set.Lookup(name).Value.(*utilnet.PortRange)
}

// Bool returns the value of a boolean flag.
func (f *Flags) Bool(name string) bool {
	b, _ := f.set.GetBool(name)
	return b
}

// Int returns the value of an integer flag.
func (f *Flags) Int(name string) int {
	n, _ := f.set.GetInt(name)
	return n
}

// Duration returns the value of a flag that is a duration.
func (f *Flags) Duration(name string) time.Duration {
	d, _ := f.set.GetDuration(name)
	return d
}

// Float returns the value of a flag that is a number with a fraction.
func (f *Flags) Float(name string) float64 {
	x, _ := f.set.GetFloat64(name)
	return x
}

// Version reports whether the command line has --version.
func (f *Flags) Version() bool { return f.Given("version") }

// EmulatedVersion returns the version to behave as; empty: none is given.
func (f *Flags) EmulatedVersion() string { return f.versionOfKube("emulated-version") }

// MinCompatibilityVersion returns the oldest version that must be able to read the stored objects; empty: none is given.
func (f *Flags) MinCompatibilityVersion() string { return f.versionOfKube("min-compatibility-version") }

// versionOfKube returns the last value of a flag whose values are versions. Of a real server's components, only "kube" is known.
func (f *Flags) versionOfKube(name string) string {
	versions := f.List(name)
	if len(versions) == 0 {
		return ""
	}
	return strings.TrimPrefix(versions[len(versions)-1], "kube=")
}

// Usage returns the usage of all flags.
func Usage() string {
	var applied, accepted, refused []Flag
	for _, f := range Table {
		switch {
		case f.Applied != "":
			applied = append(applied, f)
		case f.Refused != "":
			refused = append(refused, f)
		default:
			accepted = append(accepted, f)
		}
	}
	return "Flags that do what they do on a real server:\n" + newSet(applied).FlagUsages() +
		"\nFlags that are accepted and have no effect on a cluster in memory:\n" + newSet(accepted).FlagUsages() +
		"\nFlags that are refused with other values than the default:\n" + newSet(refused).FlagUsages()
}
