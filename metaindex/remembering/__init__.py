"""In which row groups did no row match a filter that was read before?"""
