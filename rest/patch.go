package rest

import (
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"github.com/fakecluster/fakecluster/internal/observe"
	"github.com/fakecluster/fakecluster/internal/write"
)

// patch changes an object, or a subresource of it, as the body says. An apply
// may create it.
func patch(r *request) error {
	patchType, err := r.patchType()
	if err != nil {
		return err
	}
	body, err := r.readBody()
	if err != nil {
		return err
	}
	observe.From(r.ctx).Patch(body)
	options := &metav1.PatchOptions{}
	if err := r.parseQuery(options); err != nil {
		return err
	}
	if errs := metav1validation.ValidatePatchOptions(options, patchType); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "PatchOptions"}, "", errs)
	}
	if err := checkPatch(body, patchType); err != nil {
		return err
	}
	var change write.Change = write.Patch{Type: patchType, Body: body, Validation: options.FieldValidation}
	if patchType == types.ApplyYAMLPatchType {
		change = write.Apply{Body: body, Force: options.Force != nil && *options.Force, Validation: options.FieldValidation}
	}
	return r.carryOut(r.write(change, write.Options{
		DryRun: options.DryRun, FieldManager: options.FieldManager, FieldValidation: options.FieldValidation,
	}))
}

// patchType returns the type of the patch, as its media type says, if the resource accepts it.
func (r *request) patchType() (types.PatchType, error) {
	mediaType, _, _ := strings.Cut(r.http.Header.Get("Content-Type"), ";")
	strategic := r.version.Patches.StrategicMerge != nil
	switch patchType := types.PatchType(mediaType); patchType {
	case types.JSONPatchType, types.MergePatchType, types.ApplyYAMLPatchType:
		return patchType, nil
	case types.StrategicMergePatchType:
		if strategic {
			return patchType, nil
		}
	}
	accepted := []string{string(types.JSONPatchType), string(types.MergePatchType)}
	if strategic {
		accepted = append(accepted, string(types.StrategicMergePatchType))
	}
	return "", negotiation.NewUnsupportedMediaTypeError(append(accepted, string(types.ApplyYAMLPatchType)))
}

// checkPatch refuses a body that is not JSON. For an apply it accepts YAML as well.
func checkPatch(body []byte, patchType types.PatchType) error {
	if json.Valid(body) {
		return nil
	}
	if patchType == types.ApplyYAMLPatchType {
		if _, err := yaml.ToJSON(body); err != nil {
			return apierrors.NewBadRequest(fmt.Sprintf("error encoding patch: %v", err))
		}
		return nil
	}
	return apierrors.NewBadRequest("invalid JSON patch")
}
