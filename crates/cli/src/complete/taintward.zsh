#compdef taintward
# Completion for zsh; load it with: source <(taintward completion zsh)
_taintward() {
    local offered value shown
    local -a whole whole_shown open open_shown
    offered=$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null) || return 1
    for value in "${(@f)offered}"; do
        if [[ -z $value || $value =~ '^:[0-9]+$' ]]; then
            continue
        fi
        shown=${value/$'\t'/  -- }
        value=${value%%$'\t'*}
        if [[ $value == *[/=:] ]]; then
            open+=("$value")
            open_shown+=("$shown")
        else
            whole+=("$value")
            whole_shown+=("$shown")
        fi
    done
    (( ${#open} )) && compadd -S '' -l -d open_shown -a open
    (( ${#whole} )) && compadd -l -d whole_shown -a whole
    return 0
}
if [[ ${funcstack[1]} == _taintward ]]; then
    _taintward "$@"
else
    compdef _taintward taintward
fi
