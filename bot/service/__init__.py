"""Run as a service: report to systemd, and keep the unit.

::

    notify    datagrams to the service manager: ready, reloading, stopping, alive
    report    what is reported while the gateway runs, and when the watchdog gets no report
    unit      the text of the unit, with the reason of each line
    other_systems  a node's service for macOS and Windows, printed only
    install   write, check, compare and remove the unit
    systemctl ask systemd;  own_program  run it, or another system program
"""
