package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// roleFile has the service account that the operator runs as, and its roles.
const roleFile = "operator/role.yaml"

// account is the user that the operator is.
const account = "system:serviceaccount:default:greeter"

// roles returns the objects in roleFile.
func roles() (objects []runtime.Object, err error) {
	file, err := os.Open(roleFile)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	for documents := yaml.NewYAMLOrJSONDecoder(file, 4096); ; {
		u := &unstructured.Unstructured{}
		if err := documents.Decode(u); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", roleFile, err)
		}
		objects = append(objects, u)
	}
}

// roleFits looks whether the roles of the operator are those that it needs.
func (o *operator) roleFits(context.Context) error {
	diff, err := o.cluster.Access(account).CompareRoles(roleFile)
	if err == nil && len(diff.Missing)+len(diff.Unused) > 0 {
		err = errors.New(strings.Join(strings.Fields(diff.String()), " "))
	}
	return err
}

// missingRule looks whether a comparison names the rule that is taken away.
func (o *operator) missingRule(context.Context) error {
	access := o.cluster.Access(account)
	rules := access.Rules()
	for i, rule := range rules {
		without := append(rules[:i:i], rules[i+1:]...)
		diff := access.Compare(without...)
		if len(diff.Missing) != 1 || fmt.Sprint(diff.Missing[0]) != fmt.Sprint(rule) {
			return fmt.Errorf("without %v these rules are missing: %v", rule, diff.Missing)
		}
	}
	return nil
}
