"""Write what a part of the past rests on into one file that anybody can check offline."""
