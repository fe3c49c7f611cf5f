package write

import (
	"errors"
	"fmt"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/fakecluster/fakecluster/internal/json"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// maxJSONPatchOperations is upstream's limit on the operations of a JSON patch.
const maxJSONPatchOperations = 10000

// maxJSONPatchCopyBytes bounds how many bytes the copy operations of one JSON patch may
// add. Without a bound, a patch of a few copies could double an object again and again.
// The library takes the limit only from a package variable, so it holds for the whole
// process. kube-apiserver sets the same variable to the same value.
const maxJSONPatchCopyBytes = 3 * 1024 * 1024

func init() { jsonpatch.AccumulatedCopySizeLimit = maxJSONPatchCopyBytes }

// patch applies a Patch to the current object in the form that the write shows.
func (a attempt) patch(p Patch, shown resource.Decoded) (wanted resource.Decoded, managed bool, err error) {
	if p.Type == types.StrategicMergePatchType {
		wanted.Object, err = a.patchStrategically(p, shown.Object)
	} else {
		wanted, err = a.patchJSON(p, shown)
	}
	if err != nil {
		return resource.Decoded{}, false, err
	}
	return wanted, false, a.checkPatched(wanted.Object)
}

// checkPatched checks that a patch has changed neither the namespace nor the name.
func (a attempt) checkPatched(obj runtime.Object) error {
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	return a.checkPath(metadata)
}

// patchJSON applies a JSON patch or a merge patch to the JSON of the object.
func (a attempt) patchJSON(p Patch, current resource.Decoded) (resource.Decoded, error) {
	version := a.shownAs()
	if p.Type == types.MergePatchType && version.Patches.Merge != nil && !a.observe.Explains() {
		if obj, ok := version.Patches.Merge(current, p.Body, reportsStrictErrors(p.Validation)); ok {
			return obj, nil
		}
	}
	before, err := current.Encode(version.Codec)
	if err != nil {
		return resource.Decoded{}, err
	}
	var after []byte
	var complaints []error
	if p.Type == types.JSONPatchType {
		after, complaints, err = applyOperations(p, []byte(before))
	} else {
		after, complaints, err = mergeJSON(p, before)
	}
	if err != nil {
		return resource.Decoded{}, err
	}
	info := version.Serializer.SupportedMediaTypes()[0]
	serializer := info.Serializer
	if reportsStrictErrors(p.Validation) {
		serializer = info.StrictSerializer
	}
	obj, err := version.Codec.DecodePatched(after, serializer)
	a.observe.Patched(version, after, obj.Object)
	if err != nil {
		strict, ok := runtime.AsStrictDecodingError(err)
		if !ok || obj.Object == nil {
			return resource.Decoded{}, invalidPatch(string(after), err)
		}
		complaints = append(complaints, strict.Errors()...)
	}
	return obj, a.reportDecodingErrors(p, complaints, func() string { return string(after) })
}

// reportDecodingErrors warns about unknown and duplicate fields, or rejects the patch because of them, depending on
// fieldValidation.
func (a attempt) reportDecodingErrors(p Patch, complaints []error, patched func() string) error {
	if len(complaints) == 0 || !reportsStrictErrors(p.Validation) {
		return nil
	}
	if rejectsStrictErrors(p.Validation) {
		return invalidPatch(patched(), runtime.NewStrictDecodingError(complaints))
	}
	for _, c := range complaints {
		warnStrictErrors(a.ctx, c)
	}
	return nil
}

func invalidPatch(patched string, err error) error {
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), patched, err.Error())})
}

// jsonPatchOp is one operation of a JSON patch.
type jsonPatchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

// applyOperations applies a JSON patch.
func applyOperations(p Patch, before []byte) (after []byte, complaints []error, err error) {
	if reportsStrictErrors(p.Validation) {
		var operations []jsonPatchOp
		if complaints, err = kjson.UnmarshalStrict(p.Body, &operations); err != nil {
			// Upstream's message contains the name of a Go type. Clients see the same one.
			text := strings.ReplaceAll(err.Error(), "write.jsonPatchOp", "handlers.jsonPatchOp")
			return nil, nil, apierrors.NewBadRequest("error decoding patch: " + text)
		}
		for i, c := range complaints {
			complaints[i] = fmt.Errorf("json patch %w", c)
		}
	}
	operations, err := jsonpatch.DecodePatch(p.Body)
	if err != nil {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	if len(operations) > maxJSONPatchOperations {
		return nil, nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
			"The allowed maximum operations in a JSON patch is %d, got %d", maxJSONPatchOperations, len(operations)))
	}
	after, err = applied(operations, before)
	if err != nil {
		return nil, nil, unprocessable(err)
	}
	return after, complaints, nil
}

// applied returns the object after the operations of a JSON patch. The library panics for some invalid ones, such as a
// replacement of the whole object without a value; these are rejected like others.
func applied(operations jsonpatch.Patch, before []byte) (after []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the patch cannot be applied: %v", p)
		}
	}()
	return operations.Apply(before)
}

// unprocessable returns the answer to a patch that does not fit the object: 422 without a
// reason.
func unprocessable(err error) error {
	return apierrors.NewGenericServerResponse(422, "", schema.GroupResource{}, "", err.Error(), 0, false)
}

// mergeJSON applies a merge patch. It uses the patch library for patches that are not plain JSON, and for errors.
func mergeJSON(p Patch, before string) (after []byte, complaints []error, err error) {
	if after, ok := json.MergePatch(before, string(p.Body)); ok {
		return after, nil, nil
	}
	if reportsStrictErrors(p.Validation) {
		patch := map[string]any{}
		if complaints, err = kjson.UnmarshalStrict(p.Body, &patch); err != nil {
			return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
		}
	}
	after, err = jsonpatch.MergePatch([]byte(before), p.Body)
	if errors.Is(err, jsonpatch.ErrBadJSONPatch) {
		err = apierrors.NewBadRequest(err.Error())
	}
	return after, complaints, err
}

// patchStrategically applies a strategic merge patch. Only kinds with Go types accept one.
func (a attempt) patchStrategically(p Patch, current runtime.Object) (runtime.Object, error) {
	patch, complaints, err := decodePatch(p)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	obj, err := a.shownAs().Patches.StrategicMerge(current, patch, reportsStrictErrors(p.Validation))
	a.observe.Merged(a.shownAs(), current, patch, obj, nil)
	if strict, ok := runtime.AsStrictDecodingError(err); ok && obj != nil {
		complaints = append(complaints, strict.Errors()...)
	} else if err != nil {
		return nil, strategicMergeError(err, patch)
	}
	return obj, a.reportDecodingErrors(p, complaints, func() string { return printedPatch(patch) })
}

// decodePatch reads a strategic merge patch.
func decodePatch(p Patch) (patch map[string]any, complaints []error, err error) {
	if patch, plain := json.Decode(string(p.Body)); plain {
		return patch, nil, nil
	}
	patch = map[string]any{}
	if reportsStrictErrors(p.Validation) {
		complaints, err = kjson.UnmarshalStrict(p.Body, &patch)
	} else {
		err = kjson.UnmarshalCaseSensitivePreserveInts(p.Body, &patch)
	}
	return patch, complaints, err
}

// printedPatch returns a patch as upstream prints it in an error: after the merge, which removes directives and nulls.
func printedPatch(patch map[string]any) string { return fmt.Sprintf("%+v", patch) }

// strategicMergeError returns the error for a strategic merge patch: 400 if it is malformed, 422 if it does not fit the
// object.
func strategicMergeError(err error, patch map[string]any) error {
	for _, bad := range []error{
		mergepatch.ErrBadJSONDoc, mergepatch.ErrBadPatchFormatForPrimitiveList, mergepatch.ErrBadPatchFormatForRetainKeys,
		mergepatch.ErrBadPatchFormatForSetElementOrderList, mergepatch.ErrUnsupportedStrategicMergePatchFormat,
	} {
		if errors.Is(err, bad) {
			return apierrors.NewBadRequest(err.Error())
		}
	}
	if errors.Is(err, mergepatch.ErrNoListOfLists) || errors.Is(err, mergepatch.ErrPatchContentNotMatchRetainKeys) {
		return unprocessable(err)
	}
	var decoding *resource.PatchedError
	if errors.As(err, &decoding) {
		return invalidPatch(printedPatch(patch), decoding.Err)
	}
	return err
}
