package serverflags

import "github.com/spf13/pflag"

// Define adds the flags of kube-apiserver to the flags of another command, hidden in its usage, except
// those that the command has itself. After the command line has been read, the result has what it
// says of them, for [Parse].
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

// argument is the value of a flag, which keeps what is set.
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
