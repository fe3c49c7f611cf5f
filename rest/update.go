package rest

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/write"
)

// update replaces an object, or a subresource of it, by the body.
func update(r *request) error {
	options := &metav1.UpdateOptions{}
	if err := r.parseQuery(options); err != nil {
		return err
	}
	if errs := metav1validation.ValidateUpdateOptions(options); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "UpdateOptions"}, "", errs)
	}
	sent, err := r.receive(options.FieldValidation)
	if err != nil {
		return err
	}
	return r.carryOut(r.write(write.Replace{Object: sent}, write.Options{
		DryRun: options.DryRun, FieldManager: options.FieldManager, FieldValidation: options.FieldValidation,
	}))
}
