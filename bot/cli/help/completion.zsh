#compdef sayso
# Completion of sayso in zsh: put this where $fpath leads, as _sayso.
_sayso() {
    local line
    local -a found
    while IFS= read -r line; do
        case $line in
            :files) _files ;;
            :folders) _files -/ ;;
            *) found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
        esac
    done < <("$words[1]" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
    (( $#found )) && _describe -V sayso found
}
if [[ $funcstack[1] == _sayso ]]; then _sayso "$@"; else compdef _sayso sayso; fi
