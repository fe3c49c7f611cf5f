package serverflags

import "github.com/spf13/pflag"

// Define adds the flags of kube-apiserver to those of another command, hidden in its usage, except flags that the
// command has itself. When the command line is parsed, the result has the given flags, for [Parse].
func Define(set *pflag.FlagSet) *Arguments {
	args := &Arguments{}
	for _, f := range Table {
		if set.Lookup(f.Name) != nil {
			continue
		}
		set.VarP(argument{f, args}, f.Name, f.Short, f.Applied)
		flag := set.Lookup(f.Name)
		flag.Hidden = true
		if f.Type == "bool" {
			flag.NoOptDefVal = "true"
		}
	}
	return args
}

// Arguments are flags and their values, each as --name=value, in their order.
type Arguments []string

// argument is the value of a flag. It adds what is set to args.
type argument struct {
	Flag
	args *Arguments
}

func (a argument) String() string { return "" }
func (a argument) Type() string   { return a.Flag.Type }

func (a argument) Set(value string) error {
	*a.args = append(*a.args, "--"+a.Name+"="+value)
	return nil
}
