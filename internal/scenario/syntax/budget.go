package syntax

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// Every evaluation of an expression has a budget, so that nested loops over a long list end with an error after a few
// seconds. CEL's own limit (cel.CostLimit) is not used: in a loop its tracker searches all earlier steps at each step,
// so that one pass over 100,000 items takes 20 seconds.

const (
	// maxIterations bounds the iterations of all, exists, filter, map and the like.
	maxIterations = 1_000_000
	// maxTraversed bounds what functions process: items, fields, and bytes of texts, of which 16 count as one.
	maxTraversed = 10_000_000

	bytesPerUnit = 16
	// comparisonsPerUnit is how many comparisons of a sort or of distinct count as one. Each value that a merge copies
	// counts as unitsPerCopy.
	comparisonsPerUnit, unitsPerCopy = 32, 16
)

// spent is the variable that counts what functions have processed in an evaluation. No expression can name it.
const spent = "@spent"

// budget has the options of a program that bound its evaluations.
var budget = []cel.ProgramOption{cel.InterruptCheckFrequency(maxIterations), cel.CustomDecoratorV2(charged)}

// Evaluate evaluates an expression within its budget. Some variables may be unknown.
func Evaluate(program cel.Program, variables map[string]any, unknown ...*cel.AttributePatternType) (ref.Val, *cel.EvalDetails, error) {
	variables[spent] = new(int64)
	activation, err := cel.PartialVars(variables, unknown...)
	if err != nil {
		return nil, nil, err
	}
	// The interrupt is set from the start, but checked only after maxIterations.
	interrupted, interrupt := context.WithCancel(context.Background())
	interrupt()
	value, details, err := program.ContextEval(interrupted, activation)
	if errors.As(err, new(interpreter.EvalCancelledError)) || errors.Is(err, interpreter.InterruptError{}) {
		err = fmt.Errorf("the expression exceeds its budget of %d iterations and %d processed items; avoid nested loops over a long list", maxIterations, maxTraversed)
	}
	return value, details, err
}

// charged makes a call count the items that it processes, before it runs.
func charged(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	if call, ok := i.(interpreter.InterpretableCall); ok && len(call.Args()) > 0 {
		return chargedCall{call}, nil
	}
	return i, nil
}

type chargedCall struct{ interpreter.InterpretableCall }

func (c chargedCall) Eval(activation interpreter.Activation) ref.Val {
	return c.Exec(interpreter.AsFrame(activation))
}

func (c chargedCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	if variable, ok := frame.ResolveName(spent); ok {
		total := variable.(*int64)
		if *total += c.cost(frame); *total > maxTraversed {
			panic(interpreter.EvalCancelledError{Message: "out of budget", Cause: interpreter.CostLimitExceeded})
		}
	}
	return c.InterpretableCall.Exec(frame)
}

// cost returns what the call processes in its arguments. Arguments that are calls or loops are already charged and are
// not evaluated twice, except for a function whose cost is the square of their size.
func (c chargedCall) cost(frame *interpreter.ExecutionFrame) int64 {
	var cost int64
	for _, arg := range c.Args() {
		_, isVariable := arg.(interpreter.InterpretableAttribute)
		if isVariable || c.comparesAll() {
			cost += c.costOf(arg.Exec(frame))
		}
	}
	return cost
}

// comparesAll reports whether the call compares each item of a list with each other.
func (c chargedCall) comparesAll() bool {
	return c.Function() == "distinct" || c.Function() == "sort" || c.Function() == "@sortByAssociatedKeys"
}

// costOf returns what the call processes in an argument.
func (c chargedCall) costOf(value ref.Val) int64 {
	sizer, ok := value.(traits.Sizer)
	if !ok {
		return 0
	}
	size, _ := sizer.Size().(types.Int)
	n := int64(size)
	_, isList := value.(traits.Lister)
	switch value.(type) {
	case types.String, types.Bytes:
		return n / bytesPerUnit
	}
	switch function := c.Function(); {
	case function == operators.Index, function == operators.OptIndex, function == "size", function == operators.Add && isList:
		return 0 // takes the same time for all sizes
	case c.comparesAll():
		return n + min(n, maxTraversed)*n/comparisonsPerUnit
	case function == "merge":
		if tree, err := ToJSON(value); err == nil {
			return unitsPerCopy * int64(values(tree))
		}
	}
	return n
}

// values returns the number of values in a tree.
func values(tree any) int {
	n := 1
	switch t := tree.(type) {
	case map[string]any:
		for _, field := range t {
			n += values(field)
		}
	case []any:
		for _, item := range t {
			n += values(item)
		}
	}
	return n
}
