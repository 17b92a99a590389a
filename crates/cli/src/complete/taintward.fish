# Completion for fish; load it with: taintward completion fish | source
function __taintward_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    $program __complete $words "$current" 2>/dev/null | string match --invert --regex '^:[0-9]+$'
end
complete --command taintward --no-files --arguments '(__taintward_complete)'
