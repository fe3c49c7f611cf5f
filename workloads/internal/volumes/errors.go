package volumes

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// missing is the error of the kubelet's caches for an object that does not exist.
type missing struct{ kind, name string }

func (m missing) Error() string { return fmt.Sprintf("%s %q not found", m.kind, m.name) }

// Missing replaces a NotFound error by that of the kubelet's caches. It returns other errors as they are.
func Missing(err error, kind, name string) error {
	if apierrors.IsNotFound(err) {
		return missing{kind, name}
	}
	return err
}

func isMissing(err error) bool {
	return errors.As(err, &missing{})
}
