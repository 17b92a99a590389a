// Prints the fields of the Kubernetes API, as the Go types declare them.
//
// The program is in the cluster's module, so that it has the types of the release that the tests use. It reads the types
// below and all types that they refer to, and writes the text of crates/fakekube/src/schema/kubernetes.txt to standard
// output; its header explains the format. It omits descriptions of fields, and columns, defaults and validation, which are
// code and not declarations.
package main

import (
	"bufio"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
)

// Groups and versions whose kinds are listed; no API server serves one of them, but clients send its options.
var versions = []schema.GroupVersion{
	{Group: "", Version: "v1"},
	{Group: "admissionregistration.k8s.io", Version: "v1"},
	{Group: "apiextensions.k8s.io", Version: "v1"},
	{Group: "apps", Version: "v1"},
	{Group: "authentication.k8s.io", Version: "v1"},
	{Group: "authorization.k8s.io", Version: "v1"},
	{Group: "autoscaling", Version: "v1"},
	{Group: "autoscaling", Version: "v2"},
	{Group: "batch", Version: "v1"},
	{Group: "certificates.k8s.io", Version: "v1"},
	{Group: "coordination.k8s.io", Version: "v1"},
	{Group: "discovery.k8s.io", Version: "v1"},
	{Group: "events.k8s.io", Version: "v1"},
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1"},
	{Group: "networking.k8s.io", Version: "v1"},
	{Group: "node.k8s.io", Version: "v1"},
	{Group: "policy", Version: "v1"},
	{Group: "rbac.authorization.k8s.io", Version: "v1"},
	{Group: "resource.k8s.io", Version: "v1"},
	{Group: "scheduling.k8s.io", Version: "v1"},
	{Group: "storage.k8s.io", Version: "v1"},
}

// Types with a form of their own in JSON or protobuf; the reader knows them by name.
var special = map[reflect.Type]string{
	reflect.TypeFor[metav1.Time]():           "Time",
	reflect.TypeFor[metav1.MicroTime]():      "MicroTime",
	reflect.TypeFor[metav1.Duration]():       "Duration",
	reflect.TypeFor[metav1.FieldsV1]():       "FieldsV1",
	reflect.TypeFor[resource.Quantity]():     "Quantity",
	reflect.TypeFor[intstr.IntOrString]():    "IntOrString",
	reflect.TypeFor[runtime.RawExtension]():  "RawExtension",
	reflect.TypeFor[*runtime.RawExtension](): "RawExtension",
	// Each has several forms, which only its own code distinguishes.
	reflect.TypeFor[apiextensionsv1.JSON]():                         "RawExtension",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray]():       "RawExtension",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]():        "RawExtension",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray](): "RawExtension",
}

func main() {
	// The definitions of custom kinds are in a separate module.
	if err := apiextensionsv1.AddToScheme(scheme.Scheme); err != nil {
		panic(err)
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	fmt.Fprint(out, header)
	waiting := map[string]reflect.Type{}
	for _, version := range versions {
		types := scheme.Scheme.KnownTypes(version)
		kinds := make([]string, 0, len(types))
		for kind, of := range types {
			// The kinds that every group has (options, watch events) are the same everywhere and listed once.
			if of.PkgPath() != reflect.TypeFor[metav1.Status]().PkgPath() {
				kinds = append(kinds, kind)
			}
		}
		sort.Strings(kinds)
		for _, kind := range kinds {
			fmt.Fprintf(out, "kind %s/%s %s %s\n", version.Group, version.Version, kind, name(types[kind]))
			waiting[name(types[kind])] = types[kind]
		}
	}
	for _, of := range []reflect.Type{
		reflect.TypeFor[metav1.Status](), reflect.TypeFor[metav1.DeleteOptions](), reflect.TypeFor[metav1.WatchEvent](),
		reflect.TypeFor[metav1.PartialObjectMetadata](), reflect.TypeFor[metav1.PartialObjectMetadataList](),
		reflect.TypeFor[metav1.TypeMeta](), reflect.TypeFor[runtime.Unknown](), reflect.TypeFor[runtime.TypeMeta](),
		reflect.TypeFor[metav1.APIGroupList](), reflect.TypeFor[metav1.APIResourceList](), reflect.TypeFor[metav1.APIVersions](),
	} {
		fmt.Fprintf(out, "kind meta.k8s.io/v1 %s %s\n", of.Name(), name(of))
		waiting[name(of)] = of
	}
	done := map[string]bool{}
	for {
		next := ""
		for name := range waiting {
			if !done[name] && (next == "" || name < next) {
				next = name
			}
		}
		if next == "" {
			return
		}
		done[next] = true
		describe(out, waiting[next], waiting)
	}
}

// name is unique among the listed types: the last two parts of the package, and the name of the type.
func name(of reflect.Type) string {
	parts := strings.Split(of.PkgPath(), "/")
	if len(parts) > 2 {
		parts = parts[len(parts)-2:]
	}
	return strings.Join(parts, "/") + "." + of.Name()
}

func describe(out *bufio.Writer, of reflect.Type, waiting map[string]reflect.Type) {
	fmt.Fprintf(out, "type %s\n", name(of))
	for i := range of.NumField() {
		field := of.Field(i)
		json := strings.Split(field.Tag.Get("json"), ",")
		proto := strings.Split(field.Tag.Get("protobuf"), ",")
		if json[0] == "-" || !field.IsExported() {
			continue
		}
		inline := field.Anonymous && json[0] == ""
		if inline && len(proto) < 2 {
			if field.Type == reflect.TypeFor[metav1.TypeMeta]() {
				continue
			}
			panic("an embedded type without a number: " + name(of) + "." + field.Name)
		}
		number := "0"
		if len(proto) >= 2 {
			number = proto[1]
		}
		flags := []string{}
		if inline {
			flags = append(flags, "inline")
		}
		if field.Type.Kind() == reflect.Pointer {
			flags = append(flags, "pointer")
		}
		for _, word := range json[1:] {
			if word == "omitempty" || word == "omitzero" {
				flags = append(flags, word)
			}
		}
		if strategy := field.Tag.Get("patchStrategy"); strategy != "" {
			flags = append(flags, "strategy="+strategy)
		}
		if key := field.Tag.Get("patchMergeKey"); key != "" {
			flags = append(flags, "key="+key)
		}
		label := json[0]
		if label == "" {
			label = field.Name
		}
		fmt.Fprintf(out, " %s %s %s", number, label, shape(field.Type, waiting))
		if len(flags) > 0 {
			fmt.Fprintf(out, " %s", strings.Join(flags, " "))
		}
		fmt.Fprintln(out)
	}
}

// shape writes a type: `[]` list, `{}` map from strings, then a scalar, a special type, or the name of a type.
func shape(of reflect.Type, waiting map[string]reflect.Type) string {
	if known, found := special[of]; found {
		return known
	}
	switch of.Kind() {
	case reflect.Pointer:
		return shape(of.Elem(), waiting)
	case reflect.Slice:
		if of.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "[]" + shape(of.Elem(), waiting)
	case reflect.Map:
		if of.Key().Kind() != reflect.String {
			panic("a map from " + of.Key().String())
		}
		return "{}" + shape(of.Elem(), waiting)
	case reflect.Struct:
		waiting[name(of)] = of
		return name(of)
	case reflect.Bool, reflect.String, reflect.Int32, reflect.Int64, reflect.Float64, reflect.Uint32, reflect.Uint64:
		return of.Kind().String()
	case reflect.Int, reflect.Uint8:
		return "int64"
	}
	panic("a shape without a name: " + of.String())
}

const header = `# The fields of the Kubernetes API. Generated by ` + "`cargo xtask schema`" + ` from the Go types of k8s.io/api; not edited by hand.
#
# kind GROUP/VERSION KIND TYPE     what an apiVersion and a kind stand for
# type NAME                        followed by its fields:
#  NUMBER NAME SHAPE FLAGS...      number in protobuf (0: none), name in JSON, [] list of, {} map of, then a scalar or a type
#    inline     in JSON its fields stand among those around it; in protobuf it is a message of its own
#    pointer    absent and zero are different things
#    omitempty  left out of JSON when empty (omitzero: when all of it is)
#    strategy=, key=   how a strategic merge patch treats a list
`
