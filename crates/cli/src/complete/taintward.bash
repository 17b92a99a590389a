# Completion for bash; load it with: source <(taintward completion bash)
_taintward() {
    # Bash cuts words at = and : as well; the program wants them as they are typed.
    local rest=${COMP_LINE:0:COMP_POINT} piece blank i
    local -a words=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        blank=${rest%%[![:space:]]*}
        rest=${rest#"$blank"}
        piece=${COMP_WORDS[i]}
        if ((i == COMP_CWORD)); then
            piece=$rest
        fi
        rest=${rest#"$piece"}
        if ((i == 0)) || [[ -n $blank ]]; then
            words+=("$piece")
        else
            words[${#words[@]} - 1]+=$piece
        fi
    done
    local last=${words[${#words[@]} - 1]} kept= offered value
    if ((${#words[@]} == 1)); then
        return 0
    fi
    # What bash has cut off already is not to be given again.
    if [[ $last == *[=:]* ]]; then
        kept=${last%"${last##*[=:]}"}
    fi
    COMPREPLY=()
    offered=$("${words[0]}" __complete "${words[@]:1}" 2>/dev/null) || return 0
    while IFS= read -r value; do
        if [[ -z $value || $value =~ ^:[0-9]+$ ]]; then
            continue
        fi
        value=${value%%$'\t'*}
        printf -v value %q "${value#"$kept"}"
        COMPREPLY+=("$value")
    done <<<"$offered"
    if ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *[/=:] ]]; then
        compopt -o nospace 2>/dev/null
    fi
    return 0
}
complete -F _taintward taintward
