// Prints the table rows that the API server's own printers produce for sample objects.
//
// The program is in the cluster's module, so that it has the printers of the release that the tests use. It reads the
// objects in crates/fakekube/tests/golden/columns, a file per resource, and writes the text of
// crates/fakekube/tests/golden/columns.txt to standard output; its header explains the format. It omits descriptions of
// columns, and the parts of a Table that printers do not produce.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/printers"
	"k8s.io/kubernetes/pkg/printers/internalversion"
)

const folder = "../../crates/fakekube/tests/golden/columns"

// now-205s is a time 205 s ago; now-205.0s is the same, written to the microsecond.
var relative = regexp.MustCompile(`"now([+-]\d+)(\.0)?s"`)

type sheet struct {
	resource string
	objects  []runtime.Object
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	// The printers read the clock. The program prints everything in the second after `now`, so that they print a time that
	// was a whole number of seconds ago at `now` as exactly that.
	now := time.Now().Truncate(time.Second).Add(3 * time.Second)
	sheets := read(now)
	time.Sleep(time.Until(now.Add(time.Millisecond)))
	fmt.Fprint(out, header)
	for _, sheet := range sheets {
		print(out, sheet)
	}
	if took := time.Since(now); took > 900*time.Millisecond {
		panic(fmt.Sprintf("printed after %s; the ages may have moved on", took))
	}
	check(out.Flush())
}

func read(now time.Time) []sheet {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	check(err)
	if len(files) == 0 {
		panic("no samples in " + folder)
	}
	var sheets []sheet
	decoder := serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(err)
		var raws []json.RawMessage
		check(json.Unmarshal(relative.ReplaceAllFunc(text, absolute(now)), &raws))
		sheet := sheet{resource: strings.TrimSuffix(filepath.Base(file), ".json")}
		for _, raw := range raws {
			object, _, err := decoder.Decode(raw, nil, nil)
			check(err)
			internal, err := legacyscheme.Scheme.ConvertToVersion(object, runtime.InternalGroupVersioner)
			check(err)
			sheet.objects = append(sheet.objects, internal)
		}
		sheets = append(sheets, sheet)
	}
	return sheets
}

func absolute(now time.Time) func([]byte) []byte {
	return func(text []byte) []byte {
		parts := relative.FindSubmatch(text)
		seconds, err := strconv.ParseInt(string(parts[1]), 10, 64)
		check(err)
		layout := metav1.RFC3339Micro
		if len(parts[2]) == 0 {
			layout = time.RFC3339
		}
		// Not Time.Add: a Duration ends at 292 years.
		return []byte(strconv.Quote(time.Unix(now.Unix()+seconds, 0).UTC().Format(layout)))
	}
}

func print(out *bufio.Writer, sheet sheet) {
	generator := printers.NewTableGenerator().With(internalversion.AddHandlers)
	fmt.Fprintf(out, "resource\t%s\n", sheet.resource)
	for i, object := range sheet.objects {
		table, err := generator.GenerateTable(object, printers.GenerateOptions{Wide: true})
		check(err)
		if i == 0 {
			for _, column := range table.ColumnDefinitions {
				fmt.Fprintf(out, "column\t%s\t%s\t%s\t%d\n", column.Name, column.Type, column.Format, column.Priority)
			}
		}
		for _, row := range table.Rows {
			fmt.Fprintf(out, "row\t%s\t%s\n", text(row.Cells), text(row.Conditions))
		}
	}
}

func text(value any) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	check(encoder.Encode(value))
	return strings.TrimSuffix(text.String(), "\n")
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

const header = `# Regenerate: cargo xtask columns
# What the API server's printers make of the objects in columns/*.json; made by xtask/cluster/columns.
#
# Lines that start with '#' are comments. Columns are separated by one tab.
#   resource <name>                               opens a file's rows; the name is <plural>.<group>
#   column <name> <type> <format> <priority>      a column's definition, in order
#   row <cells> <conditions>                      an object's row, in the order of the file: two JSON values, a list each
`
